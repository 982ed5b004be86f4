# picture.sh - makes documents of any size. To be sourced by bash.

# A picture of so many MiB: a gray PNG that is not compressed.
picture() # FILE MIB
{
  /usr/bin/python3 -c '
import os, struct, sys, zlib
def chunk(kind, data):
    out.write(struct.pack(">I", len(data)) + kind + data +
              struct.pack(">I", zlib.crc32(data, zlib.crc32(kind))))
mib = int(sys.argv[2])
with open(sys.argv[1], "wb") as out:
    out.write(b"\x89PNG\r\n\x1a\n")
    chunk(b"IHDR", struct.pack(">IIBBBBB", 16384, 64 * mib, 8, 0, 0, 0, 0))
    pack = zlib.compressobj(0)
    for _ in range(mib):
        rows = b"".join(b"\0" + os.urandom(16384) for _ in range(64))
        chunk(b"IDAT", pack.compress(rows))
    chunk(b"IDAT", pack.flush())
    chunk(b"IEND", b"")' "$1" "$2"
}
