import { startFramework } from '../framework.mjs'

startFramework(import.meta.url, (port) => {
  const next = 'node_modules/next/dist/bin/next'
  const place = ['-p', port, '-H', 'localhost']
  return { built: '.next/BUILD_ID', start: [next, 'start', ...place], dev: [next, 'dev', ...place] }
})
