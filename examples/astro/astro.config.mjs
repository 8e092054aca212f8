import node from '@astrojs/node'
import { defineConfig } from 'astro/config'

export default defineConfig({
  output: 'server',
  adapter: node({ mode: 'standalone' }),
  // Without its own host, Astro takes every form for one of another site.
  security: { allowedDomains: [{ hostname: 'localhost' }] },
})
