/* dialect.h: what resembles JSON and is none: Python's and NumPy's way to print, JavaScript's to write, comments, trailing commas,
 * other numbers, typographic quotes. An error appends the remark, which says what JSON has instead. */
#ifndef ATTND_API_JSON_DIALECT_H
#define ATTND_API_JSON_DIALECT_H

/* Of null in the place of a number. */
#define DIALECT_NULL_REMARK                                                                                                    \
    " (a number that is not finite is written \"NaN\", \"Infinity\" or \"-Infinity\": JSON.stringify and others make null of " \
    "it)"

/* Of an object in the place of numbers, {"0": 1, "1": 2}. */
#define DIALECT_TYPED_ARRAY_REMARK " (JSON.stringify makes such an object of a typed array: send Array.from(array))"

/* What a text is written in that no JSON reader takes at `at`: " (..)", or "" where nothing is recognised. `text` is where the
 * text begins, `end` where it ends. Static. */
const char *dialect_remark(const char *text, const char *at, const char *end);

/* Of a word in the place of a number: the rule of JSON's grammar that it breaks; as above. */
const char *dialect_word_remark(const char *word, const char *end);

/* Of a string in the place of numbers: as above. */
const char *dialect_string_remark(const char *string);

#endif
