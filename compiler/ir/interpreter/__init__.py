"""The intermediate representation carried out on packets: what a placed unit's programs do, to be
compared with the model's interpreter and the kernel.

`machine.py` runs programs; `statements.py` and `expressions.py` say what their parts mean,
`memory.py` what pointers lead to, `tables.py` what rules are found, and `header.py` and
`answers.py` what the functions of the runtime header do.
"""
