/**
 * The parts of a browser that pages use while they are drawn, for the server, which has none: an address without a query, and empty
 * storages. The build puts these in the place of the globals, in the file of the first cards alone.
 */
export const location = {
  origin: 'https://page.invalid',
  hostname: 'page.invalid',
  pathname: '/',
  search: '',
  hash: '',
}

export const history = { state: null }

const nothing = { getItem: () => null, setItem: () => undefined, removeItem: () => undefined }
export const sessionStorage = nothing
export const localStorage = nothing

/** Nearly every browser can use passkeys. In one that cannot, the script removes their button. */
export const PublicKeyCredential = { parseRequestOptionsFromJSON: () => undefined }
