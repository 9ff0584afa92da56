namespace EQueue.Cli.Completing;

/// <summary>What each shell reads to complete command lines; all ask <c>equeue completion suggest</c>.</summary>
internal static class ShellScripts
{
    public const string Bash = """
        # equeue for bash: put  source <(equeue completion bash)  into ~/.bashrc
        _equeue() {
            local IFS=$'\n' line="${COMP_LINE:0:COMP_POINT}"
            COMPREPLY=($("${COMP_WORDS[0]}" completion suggest -- "$line" 2>/dev/null))
            # bash takes what follows a colon for a word of its own
            local word="${line##* }"
            if [[ $word == *:* && $COMP_WORDBREAKS == *:* ]]; then
                COMPREPLY=("${COMPREPLY[@]#"${word%"${word##*:}"}"}")
            fi
        }
        complete -F _equeue equeue
        """;

    public const string Zsh = """
        #compdef equeue
        # equeue for zsh: put  source <(equeue completion zsh)  into ~/.zshrc, after compinit
        _equeue() {
            local -a found
            found=("${(@f)$("${words[1]}" completion suggest -- "${(j: :)words[1,CURRENT]}" 2>/dev/null)}")
            found=("${(@)found:#}")
            (( $#found )) && compadd -- "${found[@]}"
        }
        compdef _equeue equeue
        """;

    public const string PowerShell = """
        # equeue for PowerShell: put  equeue completion pwsh | Out-String | Invoke-Expression  into $PROFILE
        Register-ArgumentCompleter -Native -CommandName equeue -ScriptBlock {
            param($wordToComplete, $commandAst, $cursorPosition)
            $line = $commandAst.ToString()
            $typed = $line.Substring(0, [Math]::Min($line.Length, $cursorPosition - $commandAst.Extent.StartOffset))
            if ($wordToComplete -eq '') { $typed = $typed.TrimEnd() + ' ' }
            equeue completion suggest -- $typed 2>$null | ForEach-Object {
                [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
            }
        }
        """;
}
