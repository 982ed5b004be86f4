"""relay.py PORT MS - relays TCP connections to a port of this computer, as a
path with a round-trip time of MS milliseconds does, and prints its own port.
At most 1 MiB is on its way in each direction."""
import asyncio
import sys

WINDOW_BYTES = 1 << 20


async def relay_one_way(reader: asyncio.StreamReader,
                        writer: asyncio.StreamWriter, delay_s: float) -> None:
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
    room = WINDOW_BYTES
    has_room = asyncio.Event()

    async def deliver() -> None:
        nonlocal room
        while True:
            due, data = await queue.get()
            await asyncio.sleep(due - loop.time())
            if not data:
                writer.close()
                return
            writer.write(data)
            await writer.drain()
            room += len(data)
            has_room.set()

    delivery = asyncio.create_task(deliver())
    data = b'?'
    while data:
        while room <= 0:
            has_room.clear()
            await has_room.wait()
        try:
            data = await reader.read(min(room, 65536))
        except ConnectionError:
            data = b''
        room -= len(data)
        queue.put_nowait((loop.time() + delay_s, data))
    await delivery


async def main() -> None:
    port, delay_s = int(sys.argv[1]), int(sys.argv[2]) / 2000

    async def relay(reader: asyncio.StreamReader,
                    writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(2 * delay_s)  # the handshake of TCP
        there, back = await asyncio.open_connection('127.0.0.1', port)
        await asyncio.gather(relay_one_way(reader, back, delay_s),
                             relay_one_way(there, writer, delay_s),
                             return_exceptions=True)

    server = await asyncio.start_server(relay, '127.0.0.1', 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()

asyncio.run(main())
