/*
 * libc.h - two functions of the C library, as libqpdf needs them in a sandbox.
 *
 * malloc(): libqpdf reads an object for which there is no memory as null, and a
 * stream as one that ends there: the document would silently become smaller.
 * So an allocation that fails ends the process, whoever asked for it.
 *
 * fopen(): the C API of libqpdf takes names, but the files have none, and
 * nothing can be opened in the sandbox. A name of libc_path() stands for a
 * descriptor, which is duplicated.
 */
#ifndef DX_FILTER_LIBC_H
#define DX_FILTER_LIBC_H

#define LIBC_PATH_BYTES 32

/* AddressSanitizer has a malloc() of its own, and takes terabytes of addresses:
 * with it, memory has no limit. */
#ifdef __SANITIZE_ADDRESS__ /* gcc */
#define LIBC_SANITIZED
#elif defined(__has_feature) /* clang */
#if __has_feature(address_sanitizer)
#define LIBC_SANITIZED
#endif
#endif

/* From now on a failed allocation ends this process with the status. */
void libc_exit_without_memory(int status);

/* The name of a file that is open. Reading starts at its beginning; the offset
 * of the descriptor moves. */
void libc_path(int fd, char path[LIBC_PATH_BYTES]);

#endif
