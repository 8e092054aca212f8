// Writes docs/account-changes.md from the table of the program: what follows from each change of an account.

/** @type {(value: unknown) => string} */
const cell = (value) => {
  if (value === null || value === undefined) return '–'
  if (Array.isArray(value)) return value.length === 0 ? '–' : value.join(', ')
  return String(value)
}

const columns = {
  by: 'by',
  mail: 'mail',
  undo: 'its undo link takes back',
  webhook: 'webhook',
  otherSessions: 'other sessions',
  thisSession: 'this session',
  withdrawsProofs: 'no longer proven',
  voids: 'voids',
  event: 'event',
}

/** @param {Record<string, Record<string, unknown>>} table */
export const accountChangesGuide = (table) => {
  const rows = Object.entries(table).map(
    ([kind, row]) =>
      `| \`${kind}\` | ${Object.keys(columns)
        .map((name) => cell(row[name]))
        .join(' | ')} |`,
  )
  return `# What can happen to an account

Every change of an account, and what follows from it in the same transaction. \`by\` says who can cause it: the signed-in caller, the
holder of a mailed link, an operator (with a command or a service key), a sign-in under way, or an old refresh token that is used
again. The mail goes to the address that the account had before the change.

| change | ${Object.values(columns).join(' | ')} |
|${'---|'.repeat(Object.keys(columns).length + 1)}
${rows.join('\n')}

This page is generated from \`src/account-changes/account-change-table.ts\` by \`npm run docs\`.
`
}
