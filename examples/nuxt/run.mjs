import { startFramework } from '../framework.mjs'

startFramework(import.meta.url, (port) => ({
  built: '.output/server/index.mjs',
  start: ['.output/server/index.mjs'],
  dev: ['node_modules/nuxt/bin/nuxt.mjs', 'dev', '--port', port],
}))
