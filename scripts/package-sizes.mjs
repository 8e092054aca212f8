// Checks how much of each package an application loads at most: minified, bundled with everything it needs, and compressed with gzip.
import { gzipSync } from 'node:zlib'
import { bundlePackage, readPackages } from './packages.mjs'

/** The budgets in bytes, by the name of the package and its entry point. @type {Record<string, Record<string, number>>} */
const budgets = {
  '@latchkey/client': { client: 3_250, 'return-to': 600, react: 4_150, words: 13_400 },
  '@latchkey/service': { service: 2_500 },
  '@latchkey/testing': { testing: 3_000, keys: 2_100 },
  '@latchkey/verify': {
    verify: 6_600,
    node: 5_550,
    express: 5_550,
    fastify: 5_550,
    koa: 5_550,
    hono: 5_550,
    fetch: 5_550,
    bearer: 3_700,
    ssr: 11_400,
    next: 12_500,
    openid: 7_800,
    resource: 6_600,
  },
}

const lines = []
for (const each of await readPackages()) {
  for (const entry of each.entries) {
    const files = await bundlePackage({ ...each, entries: [entry] }, { minify: true })
    const size = files.reduce((sum, { contents }) => sum + gzipSync(contents, { level: 9 }).length, 0)
    const budget = budgets[each.name]?.[entry]
    const allowance = budget === undefined ? 'has no budget in scripts/package-sizes.mjs' : `may have ${budget}`
    lines.push({
      text: `${each.name} ${entry}: ${size} bytes, ${allowance}`,
      fits: budget !== undefined && size <= budget,
    })
  }
}
for (const { text } of lines) console.log(text)
process.exitCode = lines.length > 0 && lines.every(({ fits }) => fits) ? 0 : 1
