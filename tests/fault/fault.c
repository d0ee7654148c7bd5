/*
 * The one fault of a run. See fault.h.
 */
#include "fault.h"

#include <stddef.h>

ft_fault ft_the_fault;

void ft_fault_begin(ft_source source, int64_t at, bool lasting)
{
    ft_the_fault = (ft_fault){.source = source, .at = at, .lasting = lasting};
}

void ft_fault_end(void) { ft_the_fault.over = true; }

bool ft_fault_gave(int code)
{
    for (int i = 0; i < ft_the_fault.code_count; i++)
        if (ft_the_fault.codes[i] == code)
            return true;
    return false;
}

bool ft_fault_strikes(ft_source source, const char *what, int code)
{
    ft_fault *fault = &ft_the_fault;
    if (source != fault->source || fault->paused || fault->over)
        return false;
    fault->count++;
    if (fault->at == 0 || fault->count < fault->at || (fault->count > fault->at && !fault->lasting))
        return false;
    if (!fault->struck)
        fault->what = what;
    fault->struck = true;
    if (!ft_fault_gave(code) && fault->code_count < FT_CODES)
        fault->codes[fault->code_count++] = code;
    return true;
}
