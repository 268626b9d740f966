"""How good a policy is: pass@1 after at most k rounds of propose, execute, repair."""
