#!/usr/bin/env python3
"""delay_proxy: forwards TCP in both directions and delays each chunk by a number of milliseconds, in order.

Usage    delay_proxy.py LISTEN-PORT TARGET-HOST TARGET-PORT MILLISECONDS
"""
import asyncio
import sys

WAITING_CHUNKS = 4096  # a full queue blocks the sender


async def pass_on(reader, writer, delay):
    chunks = asyncio.Queue(WAITING_CHUNKS)
    clock = asyncio.get_running_loop().time

    async def take():
        while chunk := await reader.read(65536):
            await chunks.put((clock() + delay, chunk))
        await chunks.put((clock() + delay, b""))

    taking = asyncio.create_task(take())
    try:
        while True:
            due, chunk = await chunks.get()
            await asyncio.sleep(max(0, due - clock()))
            if not chunk:
                break
            writer.write(chunk)
            await writer.drain()
    finally:
        taking.cancel()
        writer.close()


async def main():
    port, target, target_port, delay = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]) / 1000

    async def meet(reader, writer):
        try:
            there_reader, there_writer = await asyncio.open_connection(target, target_port)
        except OSError:
            writer.close()
            return
        await asyncio.gather(pass_on(reader, there_writer, delay), pass_on(there_reader, writer, delay), return_exceptions=True)

    server = await asyncio.start_server(meet, "0.0.0.0", port)
    async with server:
        await server.serve_forever()


asyncio.run(main())
