"""Serves one model on the loopback until its input is closed, and says on its output where."""

import os
import sys

import xllamacpp

settings = xllamacpp.CommonParams()
settings.model.path = sys.argv[1]
settings.hostnames = ["127.0.0.1"]
settings.port = 0
settings.n_ctx = 1024
settings.n_parallel = 1
settings.cpuparams.n_threads = 1
settings.cpuparams_batch.n_threads = 1
settings.warmup = False
settings.endpoint_slots = True
# The likeliest word each time: the same prompt gets the same answer.
settings.sampling.temp = 0.0
# A small model may never find an end by itself.
settings.n_predict = 200
server = xllamacpp.Server(settings)
print(server.listening_address, flush=True)
# Whoever started it holds the other end; when that is gone, so is the reason to go on.
sys.stdin.read()
os._exit(0)
