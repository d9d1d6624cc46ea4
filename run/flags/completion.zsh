#compdef toolpipe
# Completion of toolpipe for zsh: this text is the file _toolpipe in a directory of
# $fpath, or in a start-up file behind compinit: source <(toolpipe --completion zsh)

_toolpipe_names() {
  local -a before found
  before=("${(@Q)words[2,CURRENT-1]}")
  [[ $words[CURRENT] != --*=* ]] && before=("${(@)before[1,-2]}")
  found=("${(@f)$(toolpipe --completion $1 "${(@)before}" 2>/dev/null)}")
  compadd -a found
}

_toolpipe() {
  _arguments -s -S \
@SPECS@    '*: :{(( $words[(I)--report*] )) && _files}' # else words of a prompt: a message in this place would keep zsh from inserting a flag
}

if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _toolpipe "$@"
else
  compdef _toolpipe toolpipe
fi
