# Completion of gpuproof for bash: source it, or install it as
# /usr/share/bash-completion/completions/gpuproof
_gpuproof() {
	local word=${COMP_WORDS[COMP_CWORD]} answer words
	mapfile -t answer < <("${1/#\~/$HOME}" completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
	[[ $word != '=' ]] || word=''
	words=("${answer[@]:1}")
	mapfile -t COMPREPLY < <(compgen -W "${words[*]%%$'\t'*}" -- "$word"
		[[ ${answer[0]} != files ]] || compgen -f -- "$word")
	[[ ${COMPREPLY[0]} != *= ]] || compopt -o nospace
}
complete -o filenames -F _gpuproof gpuproof
