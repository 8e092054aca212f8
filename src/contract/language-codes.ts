// Written by scripts/languages.mjs, from the files in web/words.
export const languages = ['en', 'de', 'es', 'fr'] as const
