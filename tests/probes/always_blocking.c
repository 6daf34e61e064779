/* Preloaded: no descriptor can be told not to block. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

int fcntl(int file, int command, ...)
{
    va_list arguments;
    va_start(arguments, command);
    long value = va_arg(arguments, long);
    va_end(arguments);
    if (command != F_SETFL)
        return (int)syscall(SYS_fcntl, file, command, value);
    errno = ENOLCK;
    return -1;
}
