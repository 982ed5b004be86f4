# ppd/local.mk - the driver, as source for ppdc and as a finished PPD. ppdc
# names its output itself, so it works in a folder of its own. The source goes
# to a folder of ours: in CUPS's drv/ the driver would be listed twice.
dist_pkgdata_DATA = ppd/docextract.drv
cupsmodel_DATA = ppd/docextract.ppd
CLEANFILES += ppd/docextract.ppd

ppd/docextract.ppd: ppd/docextract.drv
	$(AM_V_GEN)$(MKDIR_P) ppd/made && \
	$(PPDC) -d ppd/made $(srcdir)/ppd/docextract.drv >/dev/null && \
	mv ppd/made/docextract.ppd $@ && rmdir ppd/made
