import { quoted } from './quoted.js'

/** For an application whose secret came as a client_id. The secret itself is in no sentence. */
export const swappedSentence = 'The id and the secret are swapped: the secret was sent as client_id'

const shownLength = 8

/** An unknown client_id may be a secret that was pasted into the wrong field, so no more than its beginning is shown. */
export const unknownClientSentence = (clientId: string) => {
  const beginning = clientId.slice(0, shownLength)
  return `The client_id ${quoted(clientId.length > shownLength ? `${beginning}...` : beginning)} is not known`
}
