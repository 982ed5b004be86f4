# ppd/local.mk - the driver, as source for ppdc with its catalogs, and as a
# finished PPD in all languages. ppdc chooses the name of its output, so it runs
# in a directory of its own. The source is not installed in CUPS's drv/, where
# the driver would be listed twice. ppdc drops the English name of a custom
# choice; it is added afterwards. In a locale with a decimal comma, it writes no
# margins.
ppd_catalogs = ppd/de.po ppd/es.po ppd/fr.po ppd/ja.po
dist_pkgdata_DATA = ppd/docextract.drv $(ppd_catalogs)
cupsmodel_DATA = ppd/docextract.ppd
CLEANFILES += ppd/docextract.ppd

ppd/docextract.ppd: ppd/docextract.drv $(ppd_catalogs)
	$(AM_V_GEN)$(MKDIR_P) ppd/made && \
	LC_ALL=C.UTF-8 $(PPDC) -l en,de,es,fr,ja -d ppd/made \
	  $(srcdir)/ppd/docextract.drv >/dev/null && \
	text=`sed -n 's,^Attribute CustomCaseSeparators "\(True/[^"]*\)".*,\1,p' \
	  $(srcdir)/ppd/docextract.drv` && \
	sed "s,^\(\*CustomCaseSeparators\) True:,\1 $$text:," \
	  ppd/made/docextract.ppd > $@.new && \
	rm -r ppd/made && mv $@.new $@
