import { countPasskeysByHost } from '../../factors/passkeys.js'
import { countText } from '../../lib/text.js'
import type { Sql } from '../../platform/database/database.js'
import { type Finding, ok, warning } from './check.js'

/** A passkey works for the host that it was made for, and for no other. */
export const checkPasskeys = async (sql: Sql, { publicUrl }: { publicUrl: string }): Promise<Finding> => {
  const { hostname } = new URL(publicUrl)
  const { all, forOtherHosts } = await countPasskeysByHost(sql, hostname)
  if (forOtherHosts === 0) return ok(all === 0 ? 'none are stored' : `${countText(all, 'passkey')}, for ${hostname}`)
  return warning(
    `${forOtherHosts} of ${countText(all, 'passkey')} cannot be used: made for another host than ${hostname}. Put the earlier host back into PUBLIC_URL, or tell the users to add new ones`,
  )
}
