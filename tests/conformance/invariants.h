/*
 * What must hold after every test, seen through the views.
 */
#ifndef CF_INVARIANTS_H
#define CF_INVARIANTS_H

#include "driver.h"

/* NULL if all hold in that session, else the first that does not, with a row that breaks it; malloc'ed. */
char *cf_invariants_check(const cf_driver *driver, cf_session *session);

#endif
