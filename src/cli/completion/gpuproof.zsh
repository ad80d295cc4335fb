#compdef gpuproof
# Completion of gpuproof for zsh: install it as _gpuproof in a folder of $fpath
_gpuproof() {
	local -a answer described
	answer=("${(@f)$(${~words[1]} completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
	[[ $PREFIX != --*=* ]] || compset -P '*='
	# _describe wants "word:explanation".
	described=("${(@)answer[2,-1]//:/\\:}")
	described=("${(@)described/$'\t'/:}")
	_describe word described
	[[ $answer[1] != files ]] || _files
}
[[ $funcstack[1] == _gpuproof ]] && _gpuproof "$@" || compdef _gpuproof gpuproof
