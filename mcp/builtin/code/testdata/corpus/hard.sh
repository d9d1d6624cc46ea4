#!/bin/bash
# A function.
first() {
  cat <<'EOT'
inside() {
EOT
  echo "a { $(second "}") ${x#\}}"
}

second()
{
  case $1 in
    a) echo "it's" ;;
    b|c) : ;;
  esac
}
TEXT="
third() {
  $x
}
"
function fourth { echo '}'; } # done
