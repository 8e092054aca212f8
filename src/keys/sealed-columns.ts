/** A column whose values are sealed. A value is bound to its table, column and row, so a copy in another row cannot be opened. */
export type SealedColumn = {
  table: string
  column: string
  /** The primary key of the table, or another column that is unique. */
  id: { column: string; type: 'uuid' | 'text' }
  /** The name of the values in messages, as in “3 signing keys”. */
  what: string
  /** The advice if the values can never be opened again. */
  wayOut?: string
  /** True if the service can start although a value cannot be opened. Then only the part that needs the value does not work. */
  canDoWithout?: true
}

export const signingKeyColumn: SealedColumn = {
  table: 'signing_keys',
  column: 'private_key',
  id: { column: 'id', type: 'text' },
  what: 'signing keys',
  wayOut:
    'If the key that sealed them is lost, or something else wrote them, run `latchkey keys rotate --compromised --yes`: it replaces all keys, and signs no user out.',
}

export const applicationKeyColumn: SealedColumn = {
  ...signingKeyColumn,
  table: 'application_keys',
  what: 'keys of ID tokens',
}

/** A public key is no secret. It is sealed so that only this service can write one that is accepted. */
export const applicationPublicKeyColumn: SealedColumn = {
  ...applicationKeyColumn,
  column: 'public_key',
  what: 'public keys of ID tokens',
  canDoWithout: true,
}

export const totpColumn: SealedColumn = {
  table: 'totp_secrets',
  column: 'secret',
  id: { column: 'user_id', type: 'uuid' },
  what: 'TOTP secrets',
  wayOut:
    'If the key that sealed them is lost, run `latchkey user factors reset --unreadable --yes`: it switches two-step sign-in off for the users who have one of them.',
}

/** Hashes of recovery codes. */
export const recoveryCodeColumn: SealedColumn = {
  ...totpColumn,
  table: 'recovery_codes',
  column: 'sealed',
  id: { column: 'id', type: 'uuid' },
  what: 'recovery codes',
}

/** The secrets of apps that were replaced. An undo link lets such an app work again. */
export const formerTotpColumn: SealedColumn = {
  ...totpColumn,
  table: 'undos',
  column: 'former_secret',
  id: { column: 'former_secret_id', type: 'uuid' },
  what: 'TOTP secrets of replaced apps',
}

/** If such a secret cannot be opened, the user begins again. */
export const pendingTotpColumn: SealedColumn = {
  ...totpColumn,
  table: 'pending_totp_secrets',
  what: 'TOTP secrets that are not confirmed yet',
  canDoWithout: true,
}

/** Every sealed column. When the service starts, it seals their values again if the key has changed. `latchkey doctor` counts them. */
export const sealedColumns: readonly SealedColumn[] = [
  signingKeyColumn,
  applicationKeyColumn,
  applicationPublicKeyColumn,
  totpColumn,
  recoveryCodeColumn,
  formerTotpColumn,
  pendingTotpColumn,
]
