# ppd/local.mk - the driver, as source for ppdc with its catalogs and as a
# finished PPD that holds all languages. ppdc names its output itself, so it
# works in a folder of its own. The source goes to a folder of ours: in CUPS's
# drv/ the driver would be listed twice. ppdc forgets what a custom choice is
# called in English: that is put in afterwards.
ppd_catalogs = ppd/de.po ppd/es.po ppd/fr.po ppd/ja.po
dist_pkgdata_DATA = ppd/docextract.drv $(ppd_catalogs)
cupsmodel_DATA = ppd/docextract.ppd
CLEANFILES += ppd/docextract.ppd

ppd/docextract.ppd: ppd/docextract.drv $(ppd_catalogs)
	$(AM_V_GEN)$(MKDIR_P) ppd/made && \
	$(PPDC) -l en,de,es,fr,ja -d ppd/made \
	  $(srcdir)/ppd/docextract.drv >/dev/null && \
	text=`sed -n 's,^Attribute CustomCaseSeparators "\(True/[^"]*\)".*,\1,p' \
	  $(srcdir)/ppd/docextract.drv` && \
	sed "s,^\(\*CustomCaseSeparators\) True:,\1 $$text:," \
	  ppd/made/docextract.ppd > $@.new && \
	rm -r ppd/made && mv $@.new $@
