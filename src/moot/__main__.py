from moot.terminal.cli import main

main()
