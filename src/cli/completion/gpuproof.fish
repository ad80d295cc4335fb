# Completion of gpuproof for fish: install it as gpuproof.fish in a folder of
# $fish_complete_path
function __gpuproof_words
	set -l line (commandline -opc)
	set -l word (commandline -ct)
	set -l answer ($line[1] completion words -- $line[2..-1] "$word" 2>/dev/null)
	# fish replaces the whole of "--name=value".
	set -l name (string match -r -- '^--[^=]*=' "$word")
	for candidate in $answer[2..-1]
		echo "$name$candidate"
	end
	if test "$answer[1]" = files
		for path in (__fish_complete_path (string replace -- "$name" '' "$word"))
			echo "$name$path"
		end
	end
end
complete -c gpuproof -f -a '(__gpuproof_words)'
