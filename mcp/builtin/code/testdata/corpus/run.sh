#!/bin/bash
# A script.

# Says hello.
hello() {
  case $1 in
    a) echo "}" ;;
    (b) echo ${x:-"{"} ;;
  esac
}

function build
{
  cat <<EOF
fake() {
EOF
}
alias ll='ls -l'
one() { :; }
sub() (
  cd /
)
last() { echo done; }
