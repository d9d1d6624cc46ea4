# Completion of toolpipe for bash, in a start-up file: source <(toolpipe --completion bash)
_toolpipe_flags=@FLAGS@

_toolpipe_words() {
  local candidate
  for candidate; do
    [[ $candidate == "$word"* ]] && COMPREPLY+=("$candidate")
  done
}

_toolpipe_names() {
  local name
  while IFS= read -r name; do
    [[ $name == "$word"* ]] && COMPREPLY+=("$(printf %q "$name")")
  done < <(toolpipe --completion "$1" ${before[@]+"${before[@]}"} 2>/dev/null)
}

_toolpipe_paths() {
  local path option=-f
  [[ $1 == directory ]] && option=-d
  compopt -o filenames 2>/dev/null
  while IFS= read -r path; do
    COMPREPLY+=("$path")
  done < <(compgen "$option" -- "$word")
}

_toolpipe_describe() {
  local name text
  while IFS=$'\t' read -r name text; do
    [[ $name == "$word"* ]] && COMPREPLY+=("$name"$'\t'"$text")
  done <<<"$_toolpipe_flags"
  local i many=$(( ${#COMPREPLY[@]} > 1 && (COMP_TYPE == 9 || COMP_TYPE == 63) ))
  for i in "${!COMPREPLY[@]}"; do
    name=${COMPREPLY[i]%%$'\t'*} text=${COMPREPLY[i]#*$'\t'}
    COMPREPLY[i]=$name
    if (( many )); then # a list: the part that all have in common holds no description
      printf -v name '%-22s (%s)' "$name" "$text"
      COMPREPLY[i]=${name:0:${COLUMNS:-80}-1}
    fi
  done
}

_toolpipe() {
  local line=${COMP_LINE:0:COMP_POINT} flag word words before
  COMPREPLY=()
  IFS=$' \t\n' read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  local last=$(( ${#words[@]} - 1 ))
  word=${words[last]}
  before=("${words[@]:1:last-1}")
  if [[ $word == --*=* ]]; then
    flag=${word%%=*} word=${word#*=}
  else
    flag=${words[last-1]}
    [[ $flag == -* && $flag != *=* ]] && (( last > 1 )) && before=("${words[@]:1:last-2}")
    [[ $flag == --help || $flag == -h ]] && before=()
  fi
  case $flag in
@CASES@    *)
      if [[ $word == -* && $word != *=* ]]; then
        _toolpipe_describe
      elif [[ " ${before[*]-} " == *' --report'[\ =]* ]]; then # its arguments are files
        _toolpipe_paths file
      fi ;;
  esac
}
complete -F _toolpipe toolpipe
