// Written by scripts/languages.mjs, from the files in web/words.
import { de } from './de.js'
import { en } from './en.js'
import { es } from './es.js'
import { fr } from './fr.js'

export const wordsIn = { en, de, es, fr }
