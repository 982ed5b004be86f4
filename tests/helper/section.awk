# section.awk - prints a script that runs one section of a test: what comes
# before the first one, the functions of all, the section whose name is NAME or
# begins with it, and the last line if it ends the test. Exits with 1 if there is
# none.
#
#   awk -v name=NAME -f section.awk TEST

BEGIN { keep = 1 }
/^section / {
  text = $0
  gsub(/^section ['"]?|['"]$/, "", text)
  keep = index(text, name) == 1
  found = found || keep
}
/^[a-z_0-9]+\(\)/ { in_function = 1 }
keep || in_function { print }
/^[})]/ || /^[a-z_0-9]+\(\).*}( #.*)?$/ { in_function = 0 }
NF { last = $0; printed = keep }
END {
  if (!printed && last ~ /^(end|finish|count_is_good)( |$)/) print last
  exit !found
}
