#include "failure.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool fail(struct failure *failure, const char *format, ...)
{
    if (failure->text[0] == '\0') {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(failure->text, sizeof failure->text, format, arguments);
        va_end(arguments);
    }
    return false;
}

bool fail_errno(struct failure *failure, const char *call)
{
    return fail(failure, "%s: %s", call, strerror(errno));
}
