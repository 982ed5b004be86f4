"""watch.py SOCKET N - N clients that watch the ends of all jobs, as
docextract-notify does. Prints a line when all are connected, and one for each
job whose end all of them have read."""
import select
import socket
import sys


def main() -> None:
    path, count = sys.argv[1], int(sys.argv[2])
    poller = select.epoll()
    clients = {}
    lines = 0

    for _ in range(count):
        client = socket.socket(socket.AF_UNIX)
        client.connect(path)
        client.sendall(b'watch\n')
        clients[client.fileno()] = client
        poller.register(client, select.EPOLLIN)
    print('connected', flush=True)
    while True:
        for fd, _ in poller.poll():
            data = clients[fd].recv(65536)
            if not data:
                sys.exit('watch.py: the server has closed a connection')
            before = lines // count
            lines += data.count(b'\n')
            if lines // count > before:
                print(lines // count, flush=True)


main()
