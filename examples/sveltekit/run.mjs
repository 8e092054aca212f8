import { startFramework } from '../framework.mjs'

startFramework(import.meta.url, (port, appUrl) => ({
  built: 'build/index.js',
  start: ['build'],
  dev: ['node_modules/vite/bin/vite.js', 'dev', '--port', port, '--strictPort'],
  // Otherwise SvelteKit takes every form for one of another site.
  env: { ORIGIN: appUrl },
}))
