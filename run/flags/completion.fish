# Completion of toolpipe for fish: toolpipe --completion fish >~/.config/fish/completions/toolpipe.fish
function __toolpipe_names
    set -l before (commandline -opc)
    string match -q -- '--*=*' (commandline -ct); or set -e before[-1]
    toolpipe --completion $argv[1] $before[2..-1] 2>/dev/null
end
complete -c toolpipe -f
complete -c toolpipe -n "string match -q -- '--report*' (commandline -opc)" -F
