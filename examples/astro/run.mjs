import { startFramework } from '../framework.mjs'

startFramework(import.meta.url, (port) => ({
  built: 'dist/server/entry.mjs',
  start: ['dist/server/entry.mjs'],
  dev: ['node_modules/astro/astro.js', 'dev', '--port', port],
}))
