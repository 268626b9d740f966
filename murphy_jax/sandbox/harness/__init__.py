"""What runs on the untrusted side of the sandbox: the zygote that forks, and the forked child that runs a program.

The zygote imports this folder as the top-level package `harness`, in a bare interpreter that knows neither murphy_jax
nor site-packages. So everything here imports only the standard library and its neighbours, by relative name.
"""
