"""Reading and writing files in a directory that others can write to."""
import contextlib
import errno
import os
import stat

from .failure import Failure, reason

FILE_MAX_BYTES = 8 << 20  # like `docextract show`


def open_directory(path: str) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def read_file(directory: int, name: str) -> bytes:
    """Follows no link, and waits for no FIFO."""
    fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK |
                 os.O_CLOEXEC, dir_fd=directory)
    with open(fd, 'rb') as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, 'Not a regular file')
        content = file.read(FILE_MAX_BYTES + 1)
    if len(content) > FILE_MAX_BYTES:
        raise OSError(errno.EFBIG, f'Larger than {FILE_MAX_BYTES >> 20} MiB')
    return content


def read_input(directory: int, name: str, what: str) -> bytes:
    try:
        return read_file(directory, name)
    except OSError as error:
        status = os.EX_DATAERR if error.errno == errno.EFBIG else os.EX_NOINPUT
        raise Failure(status,
                      f'cannot read {what}: {reason(error)}') from None


def has_content(directory: int, name: str, content: bytes) -> bool:
    try:
        return read_file(directory, name) == content
    except OSError:
        return False


def remove(directory: int, name: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(name, dir_fd=directory)


def write_file(directory: int, name: str, content: bytes) -> None:
    """A reader sees the whole file or none, even after a crash. The directory
    is locked."""
    if has_content(directory, name, content):
        return
    temporary = f'.{name}.new'
    try:
        remove(directory, temporary)  # of a run that was killed
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL |
                     os.O_CLOEXEC, 0o640, dir_fd=directory)
        with open(fd, 'wb') as file:
            os.fchmod(fd, 0o640)  # whatever the umask
            file.write(content)
            file.flush()
            os.fsync(fd)
        os.rename(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
        os.fsync(directory)
    except OSError as error:
        remove(directory, temporary)
        raise Failure(os.EX_CANTCREAT,
                      f'cannot write {name}: {reason(error)}') from None
