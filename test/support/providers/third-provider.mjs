// Loaded with `node --import` before the compiled modules: it adds an entry to the table of providers, and nothing else.
import { register } from 'node:module'
import { isMainThread } from 'node:worker_threads'

// Node runs the hook below in a thread of its own, from this same file.
if (isMainThread) register(import.meta.url)

const entry = {
  kind: 'openid_connect',
  label: 'provider C',
  name: 'Example',
  issuer: 'https://id.example.com',
}

/** @type {import('node:module').LoadHook} */
export const load = async (url, context, nextLoad) => {
  const loaded = await nextLoad(url, context)
  if (!url.endsWith('/contract/provider-table.js')) return loaded
  return { ...loaded, source: `${loaded.source}\nproviders.provider_c = ${JSON.stringify(entry)}\n` }
}
