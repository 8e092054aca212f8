import { Fragment } from 'preact'

/** "E-Mail" is not divided at its hyphen at the end of a line. */
export const withWholeWords = (text: string) =>
  text.split(/(\be-mail\b)/i).map((part, place) =>
    place % 2 === 1 ? (
      <span key={place} class="whole-word">
        {part}
      </span>
    ) : (
      <Fragment key={place}>{part}</Fragment>
    ),
  )
