"""Keys and keyrings that programs keep in the kernel: add_key(2), request_key(2), keyctl(2).  security/keys/.

types.py   kinds of keys: what a description and a payload must be
key.py     keys, keyrings, who may do what, searching, quotas
own.py     keyrings that the kernel makes at boot
special.py the keyrings that tasks and users have
crypto.py  Diffie-Hellman and public keys
calls.py   the three calls, keyctl's operations as rows
"""
