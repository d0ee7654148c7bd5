#include "sqlite_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The directory of a path into `directory`; gives the name within it. */
static const char *path_split(const char *path, char *directory, size_t size)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        snprintf(directory, size, ".");
    else
        snprintf(directory, size, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    return slash ? slash + 1 : path;
}

/* solidobj.so beside this program, else the bare name, which the loader looks up. */
static void extension_default(char *path, size_t size)
{
    char self[PATH_MAX], beside[PATH_MAX + 32];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    snprintf(path, size, "solidobj");
    if (length <= 0)
        return;
    self[length] = '\0';
    char *slash = strrchr(self, '/');
    if (!slash)
        return;
    *slash = '\0';
    snprintf(beside, sizeof beside, "%s/solidobj.so", self);
    if (access(beside, R_OK) == 0 && strlen(beside) < size)
        memcpy(path, beside, strlen(beside) + 1);
}

int so_bench_sqlite_file_locate(so_bench_database *db, const char *where, const char *extension,
                                so_bench_error *err)
{
    struct stat found;
    if (*where == '\0')
        return so_bench_fail(err, "--db: a path must follow 'sqlite:'");
    if (strcmp(where, ":memory:") == 0)
        return so_bench_fail(err, "--db: a database in memory belongs to one connection; name a file");
    if (stat(where, &found) == 0 && S_ISDIR(found.st_mode))
        return so_bench_fail(err, "--db: '%s' is a directory; name a file in it", where);
    int length = snprintf(db->location, sizeof db->location, "%s.bench-%ld", where, (long)getpid());
    if (length < 0 || (size_t)length >= sizeof db->location)
        return so_bench_fail(err, "--db: the path is longer than %zu bytes", sizeof db->location - 32);
    path_split(where, db->directory, sizeof db->directory);
    if (extension && strlen(extension) + 2 >= sizeof db->extension)
        return so_bench_fail(err, "--extension: the path is longer than %zu bytes", sizeof db->extension - 3);
    /* A name without a slash is looked up by the loader, which never looks here. */
    bool here = extension && !strchr(extension, '/') && access(extension, R_OK) == 0;
    if (extension)
        snprintf(db->extension, sizeof db->extension, "%s%s", here ? "./" : "", extension);
    else
        extension_default(db->extension, sizeof db->extension);
    if (so_bench_sqlite_file_claim(db->location, err) != 0)
        return -1;
    so_bench_sqlite_file_remove(db->location);
    return 0;
}

int so_bench_sqlite_file_claim(const char *location, so_bench_error *err)
{
    int file = open(location, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file < 0)
        return so_bench_fail(err, "--db: %s cannot be created: %s", location, strerror(errno));
    close(file);
    return 0;
}

void so_bench_sqlite_file_remove(const char *location)
{
    char directory[1024];
    const char *name = path_split(location, directory, sizeof directory);
    size_t length = strlen(name);
    DIR *all = opendir(directory);
    if (!all)
        return;
    for (struct dirent *entry; (entry = readdir(all)) != NULL;)
        if (strncmp(entry->d_name, name, length) == 0 && strchr("-.", entry->d_name[length]))
            unlinkat(dirfd(all), entry->d_name, 0); /* strchr also finds the NUL of the file itself */
    closedir(all);
}
