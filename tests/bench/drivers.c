#include "driver.h"

#include <string.h>

const so_bench_driver *const so_bench_drivers[] = {&so_bench_sqlite, NULL};

int so_bench_database_locate(so_bench_database *db, const so_bench_plan *plan, so_bench_error *err)
{
    memset(db, 0, sizeof *db);
    size_t length = strcspn(plan->db, ":");
    char known[200] = "";
    for (size_t i = 0, used = 0; so_bench_drivers[i] && used < sizeof known; i++)
    {
        const so_bench_driver *driver = so_bench_drivers[i];
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", driver->scheme);
        if (plan->db[length] == ':' && strlen(driver->scheme) == length &&
            memcmp(driver->scheme, plan->db, length) == 0)
        {
            db->driver = driver;
            return driver->locate(db, plan->db + length + 1, plan->extension, err);
        }
    }
    return so_bench_fail(err, "--db: '%.200s' names no database that this build has a driver for; it has: %s",
                         plan->db, known);
}
