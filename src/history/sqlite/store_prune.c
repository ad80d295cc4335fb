/* Removes old nights. */
#include "base/memory.h"
#include "history/sqlite/rows.h"

enum status store_prune(struct store *s, int64_t day, size_t *removed, struct error *err)
{
	static const char *const of_nights[] = {
		"DELETE FROM point WHERE night IN (SELECT id FROM night WHERE day < ?)",
		"DELETE FROM device WHERE night IN (SELECT id FROM night WHERE day < ?)",
		"DELETE FROM note WHERE day < ? AND state IN ('', 'open', 'fixed')",
		"DELETE FROM night WHERE day < ?",
	};
	static const char *const orphans[] = {
		"DELETE FROM series WHERE id NOT IN (SELECT series FROM point)",
		"DELETE FROM epoch WHERE id NOT IN (SELECT epoch FROM point)",
	};

	*removed = 0;
	if (store_begin(s, err) != STATUS_OK)
		return err->status;
	for (size_t i = 0; i < ARRAY_SIZE(of_nights); i++)
		db_run(s->db, err, of_nights[i], "i", day);
	*removed = db_changes(s->db);
	for (size_t i = 0; i < ARRAY_SIZE(orphans); i++)
		db_run(s->db, err, orphans[i], "");
	if (store_end(s, true, err) == STATUS_OK)
		db_run(s->db, err, "VACUUM", "");
	return err->status;
}
