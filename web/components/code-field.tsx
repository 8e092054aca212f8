import { Field, type FieldProps } from './field.js'

type Props = Pick<FieldProps, 'label' | 'hint' | 'inputMode' | 'maxLength' | 'focused'>

/** For a code that was mailed or that an app shows: browsers and phones offer to fill it in. */
export const CodeField = (props: Props) => <Field {...props} name="code" autoComplete="one-time-code" code />
