import { defineConfig } from 'vite'

/** The addresses of Latchkey. In production, the proxy has the same list: docs/forward-auth.md. */
const latchkey =
  '^/(login|register|verify-email|forgot-password|reset-password|second-factor|step-up|confirm-email|undo|invite|dashboard|dev/mailbox(\\.json)?|api/auth|\\.well-known)(/|\\?|$)'

export default defineConfig({
  server: {
    proxy: {
      // `xfwd` tells Latchkey the address of the visitor.
      [latchkey]: { target: process.env.LATCHKEY_URL ?? 'http://localhost:3000', xfwd: true },
      '/api/notes': { target: process.env.API_URL ?? 'http://localhost:3100' },
    },
  },
})
