"""Keys and keyrings that programs keep in the kernel: add_key(2), request_key(2), keyctl(2).  security/keys/.

key.py     keys, keyrings, who may do what, searching, quotas
special.py the keyrings that tasks and users have
calls.py   the three calls, keyctl's operations as rows
"""
