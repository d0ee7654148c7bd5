-- Two actor types with handlers inside the database: a counter and a cart.
-- Run it once in a database that has solidobj installed (SELECT so_install()); running it again writes nothing.

-- Counter: one number. Other members of its state are left alone.
SELECT so_define_actor('Counter', '{"initial":{"count":0}}');

-- Begins to exist, without counting.
SELECT so_define_operation('Counter', 'start',
    'SELECT so_set(''count'', 0) AS result');

-- Touches one member, whatever else the state holds.
SELECT so_define_operation('Counter', 'increment',
    'SELECT so_set(''count'', so_get(''count'') + 1) AS result');

-- The same, by taking the whole state and giving it back.
SELECT so_define_operation('Counter', 'increment_whole',
    'SELECT json_set(:state, ''$.count'', json_extract(:state, ''$.count'') + 1) AS state,
            json_extract(:state, ''$.count'') + 1 AS result');

-- The same, by an external worker that claims and commits.
SELECT so_define_operation('Counter', 'increment_external', NULL);

-- Adds or changes members: the arguments are a JSON Merge Patch of the state.
SELECT so_define_operation('Counter', 'merge',
    'SELECT :args AS patch');

-- Cart: lines by article, {"quantity", "price"}, and what they come to. Prices are whole cents.
SELECT so_define_actor('Cart', '{"initial":{"lines":{},"total":0}}');

-- {"sku":"hat","price":1200,"quantity":2}: quantity is 1 unless given, price is that of the line unless given.
SELECT so_define_operation('Cart', 'add',
    'WITH
     asked(sku, quantity, price) AS (
         SELECT CAST(json_extract(:args, ''$.sku'') AS TEXT),
                coalesce(json_extract(:args, ''$.quantity''), 1),
                json_extract(:args, ''$.price'')
     ),
     line(sku, quantity, price, more) AS (
         SELECT a.sku,
                a.quantity + coalesce((SELECT json_extract(l.value, ''$.quantity'')
                                       FROM json_each(:state, ''$.lines'') AS l
                                       WHERE l.key = a.sku), 0),
                coalesce(a.price, (SELECT json_extract(l.value, ''$.price'')
                                   FROM json_each(:state, ''$.lines'') AS l
                                   WHERE l.key = a.sku), 0),
                a.quantity
         FROM asked AS a
     ),
     others(amount) AS (
         SELECT coalesce(sum(json_extract(l.value, ''$.quantity'') * json_extract(l.value, ''$.price'')), 0)
         FROM json_each(:state, ''$.lines'') AS l, asked AS a
         WHERE l.key <> a.sku
     )
     SELECT CASE
                WHEN line.sku IS NULL
                THEN json_object(''code'', ''no_sku'', ''message'', ''which article?'')
                WHEN line.more < 1
                THEN json_object(''code'', ''bad_quantity'', ''message'', ''at least one'')
            END AS reject,
            json_object(''lines'', json_object(coalesce(line.sku, ''''),
                                             json_object(''quantity'', line.quantity, ''price'', line.price)),
                        ''total'', others.amount + line.quantity * line.price) AS patch,
            others.amount + line.quantity * line.price AS result
     FROM line, others');

-- {"sku":"hat"}: takes the whole line out; a cart without it rejects.
SELECT so_define_operation('Cart', 'remove',
    'SELECT CASE
                WHEN NOT EXISTS (SELECT 1
                                 FROM json_each(:state, ''$.lines'') AS l
                                 WHERE l.key = json_extract(:args, ''$.sku''))
                THEN json_object(''code'', ''not_in_cart'', ''message'', ''there is no such article in the cart'')
            END AS reject,
            json_object(''lines'', json_object(coalesce(CAST(json_extract(:args, ''$.sku'') AS TEXT), ''''), NULL),
                        ''total'', rest.amount) AS patch,
            rest.amount AS result
     FROM (SELECT coalesce(sum(json_extract(l.value, ''$.quantity'') * json_extract(l.value, ''$.price'')), 0) AS amount
           FROM json_each(:state, ''$.lines'') AS l
           WHERE l.key IS NOT json_extract(:args, ''$.sku'')) AS rest');

-- What the cart comes to; leaves nothing behind.
SELECT so_define_operation('Cart', 'total',
    'SELECT json_extract(:state, ''$.total'') AS result',
    '{"query":true}');
