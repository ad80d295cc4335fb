/* Removal of old nights, or of their figures. */
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
		store_compact(s, err);
	return err->status;
}

enum status store_compact(struct store *s, struct error *err)
{
	return db_run(s->db, err, "VACUUM", "");
}

enum status store_thin(struct store *s, int64_t before, int64_t every, const int64_t *keep,
		       size_t keep_count, size_t *thinned, struct error *err)
{
	/* min() takes the other columns of a group from its first night. */
	static const char first_nights[] =
		"INSERT OR IGNORE INTO stays SELECT night FROM (SELECT p.night AS night, "
		"min(n.started) FROM point p JOIN night n ON n.id = p.night WHERE n.day < ? AND "
		"p.value IS NOT NULL GROUP BY p.series, p.epoch, (n.day - ?) / ?)";
	static const char *const steps[] = {
		"INSERT OR IGNORE INTO stays SELECT id FROM night WHERE state <> 'complete' OR "
		"verdict NOT IN ('', 'ACCEPTED') OR day IN (SELECT day FROM note)",
		"DELETE FROM point WHERE night IN (SELECT id FROM night WHERE day < (SELECT day "
		"FROM thinning) AND id NOT IN stays)",
		"UPDATE night SET thinned = 1, facts = '' WHERE NOT thinned AND day < (SELECT day "
		"FROM thinning) AND id NOT IN stays",
	};

	*thinned = 0;
	if (store_begin(s, err) != STATUS_OK)
		return err->status;
	db_run(s->db, err, "CREATE TEMP TABLE stays (id INTEGER PRIMARY KEY)", "");
	db_run(s->db, err, "CREATE TEMP TABLE thinning AS SELECT ? AS day", "i", before);
	db_run(s->db, err, first_nights, "iii", before, FIRST_DAY, every);
	for (size_t i = 0; i < keep_count && err->status == STATUS_OK; i++)
		db_run(s->db, err, "INSERT OR IGNORE INTO stays VALUES (?)", "i", keep[i]);
	for (size_t i = 0; i < ARRAY_SIZE(steps) && err->status == STATUS_OK; i++)
		db_run(s->db, err, steps[i], "");
	*thinned = db_changes(s->db);
	db_run(s->db, err, "DROP TABLE stays", "");
	db_run(s->db, err, "DROP TABLE thinning", "");
	db_run(s->db, err, "DELETE FROM epoch WHERE id NOT IN (SELECT epoch FROM point)", "");
	return store_end(s, true, err);
}
