import { stringify } from 'yaml'

/** A configuration file in YAML. This file is loaded late, because it loads the parser. */
export const writeDocument = (content: object) => stringify(content, { lineWidth: 0, version: '1.2' }).trimEnd()
